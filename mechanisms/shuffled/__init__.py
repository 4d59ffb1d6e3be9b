"""What is known of reports that many people randomise and a shuffler mixes, so that nobody knows whose is whose."""
