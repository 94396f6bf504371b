"""The application factory: joins the pages into one server."""
