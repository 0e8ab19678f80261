"""Where things are kept. The only room, beside `transport`, that does I/O on its own."""
