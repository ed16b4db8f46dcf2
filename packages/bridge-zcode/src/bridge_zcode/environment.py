"""The environment of a ZCode run: an allow list, the turn's own variables, and a guard against the workspace's
``.env``.

ZCode reads the nearest ``.env`` upwards from its workspace, and imports every name that is not set yet; no option turns
that off. So a workspace could move ZCode to another model endpoint, or load code into Node. A name that is set already
wins there, even when it is set to nothing [executed with the real dotenv package]: every name that the file could set
is therefore set here, to its own value where it has one, else to nothing.

In `plan` and `workspace` that is every name: nothing is executed there that could miss them. In `full`, where the
project's own programs run and look for their settings, it is the names that ZCode, Node or the system itself obey.

What this can't reach: ZCode strips the shell's proxy and certificate variables from itself before it reads the file, so
that those come through to the tools it runs [read in source, the list itself is not known]. Their names are reported.
"""

import re
from collections.abc import Iterable, Mapping

from .locate import ProviderFiles
from .vendor.wire import Tier

__all__ = ["environment", "guarded_names", "unguarded_names"]

_PASSED = frozenset(
    (
        *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        # Keys by name: what ZCode looks up itself. Other providers' keys belong into its provider file.
        *("ANTHROPIC_API_KEY", "ZAI_API_KEY", "BIGMODEL_API_KEY"),
        # Windows can't start a program without these.
        *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "APPDATA", "LOCALAPPDATA", "USERPROFILE"),
        *("HOMEDRIVE", "HOMEPATH", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)"),
    )
)
_PASSED_PREFIXES = ("LC_", "ZCODE_")
_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
# What ZCode, Node or the loader obey, whoever sets it.
_OBEYED = re.compile(
    r"(ZCODE|ANTHROPIC|ZAI|BIGMODEL|ZHIPU|NODE|ELECTRON|NPM|AGENTMAIL|LD|DYLD|SSL|XDG|GIT)_.*|.*_PROXY|.*_proxy|"
    r"HOME|PATH|SHELL|USER|LOGNAME|TMPDIR|TMP|TEMP|ENV|BASH_ENV|IFS|PYTHON(PATH|HOME|STARTUP)|PERL5(LIB|OPT)|RUBYOPT"
)
_STRIPPED = re.compile(
    r"(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED", re.IGNORECASE
)


def environment(
    environ: Mapping[str, str],
    *,
    turn: Mapping[str, str],
    providers: ProviderFiles,
    electron: bool = False,
    guarded: Iterable[str] = (),
) -> dict[str, str]:
    """The whole environment of the process.

    `environ` is the bridge's own, of which only an allow list passes (the bridge's key never does), `turn` the
    ``AGENTMAIL_*`` variables of this turn, `guarded` the names that must be set (see `guarded_names`). The real HOME
    stays: ZCode can decrypt its credentials only there.
    """
    env = {name: value for name, value in environ.items() if name in _PASSED or name.startswith(_PASSED_PREFIXES)}
    if providers.builtin is not None:
        env["ZCODE_BUILTIN_PROVIDER_CONFIG_FILE"] = str(providers.builtin)
    if providers.personal is not None:
        env["ZCODE_PERSONAL_PROVIDER_CONFIG_FILE"] = str(providers.personal)
    if electron:
        env["ELECTRON_RUN_AS_NODE"] = "1"
    # Node reads these before any .env, and tools inherit them.
    env |= {"NODE_OPTIONS": "", "NO_COLOR": "1", "TERM": "dumb"}
    env.update(turn)
    for name in guarded:
        env.setdefault(name, "")
    return env


def guarded_names(names: Iterable[str], tier: Tier) -> tuple[str, ...]:
    """Of the names that a ``.env`` could set, those that must be set before ZCode reads it."""
    if tier == "full":
        return tuple(sorted(name for name in set(names) if _OBEYED.fullmatch(name)))
    return tuple(sorted(set(names)))


def unguarded_names(names: Iterable[str]) -> tuple[str, ...]:
    """Of these names, those that reach ZCode's tools all the same."""
    return tuple(sorted(name for name in set(names) if _STRIPPED.fullmatch(name)))


def secrets_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values in `env` that must not show in an answer, by the names of their variables; the longest first."""
    return tuple(sorted((value for name, value in env.items() if _SECRET_NAME.search(name)), key=len, reverse=True))
