"""The kit that Penstock ships for tests: real servers that live as long as a test does."""
