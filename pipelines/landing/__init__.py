"""Landing: validate the bytes of stores, menus and orders, and write raw files without personal data."""
