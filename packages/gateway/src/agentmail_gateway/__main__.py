"""``agentmail-gateway``: take the data folder, take the port, serve.

Exit status: 0 after a signal, 1 when the store can't be opened, 2 wrong arguments, 3 the data folder is in use, 4 the
port is taken.
"""

import sys

from .http.data_lock import DataFolderInUseError, lock_data_folder
from .http.options import Options, parse
from .http.origins import AllowList

__all__ = ["main"]


def main() -> int:
    """Run the gateway with the arguments of the process; returns its exit status."""
    options = parse(sys.argv[1:])
    try:
        allowed = AllowList.of(options.host, options.allow_hosts, options.allow_origins)
    except ValueError as error:
        return _fail(2, str(error))
    try:
        options.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_data_folder(options.data):
            return _serve(options, allowed)
    except DataFolderInUseError as error:
        return _fail(3, str(error))
    except OSError as error:
        return _fail(1, f"can't use the data folder {options.data}: {error.strerror or error}")


def _serve(options: Options, allowed: AllowList) -> int:
    # Imported only now: a second start fails before it has loaded anything.
    from .http.logs import configure
    from .http.server import bind, run
    from .problems import Problem
    from .store.migrate import SchemaTooNewError

    configure(options.log_format)
    try:
        sock = bind(options.host, options.port)
    except OSError as error:
        return _fail(
            4,
            f"can't listen on {options.host} port {options.port}: {error.strerror or error}; "
            "stop what listens there or choose another --port (0 takes a free one)",
        )
    try:
        run(options, allowed, sock)
    except Problem as problem:
        return _fail(1, problem.detail)
    except SchemaTooNewError as error:
        return _fail(1, str(error))
    except KeyboardInterrupt:
        return 130
    finally:
        sock.close()
    return 0


def _fail(status: int, text: str) -> int:
    print(f"agentmail-gateway: {text}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
