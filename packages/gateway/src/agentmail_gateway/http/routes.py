"""The table of routes. The router and the OpenAPI document are both made from it."""

from .account_routes import ROUTES as ACCOUNT
from .admin_routes import ROUTES as ADMIN
from .attachment_routes import ROUTES as ATTACHMENTS
from .event_stream import ROUTES as EVENTS
from .mail_routes import ROUTES as MAIL
from .route import Route
from .service_routes import ROUTES as SERVICE
from .turn_routes import ROUTES as TURNS

__all__ = ["ROUTES"]

# The router looks from the top: what is asked most stands first.
ROUTES: tuple[Route, ...] = (*MAIL, *EVENTS, *TURNS, *SERVICE, *ATTACHMENTS, *ACCOUNT, *ADMIN)
