"""Results that go beyond Ji and Li (2024): what R1SMG really promises."""
