"""What runs beside the packages: the guard of the vendored modules, and how the parts are deployed."""
