"""What an epoch sets aside: records that do not decode and rows that a function failed on."""
