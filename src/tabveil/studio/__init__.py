"""The whole job in a browser, on one's own machine: screens over the library and its files."""
