-- Why a rank is behind: the largest of the four parts of its delay, see collective_delays.
CREATE MACRO _delay_cause(gap_us, compute_us, link_us, earlier_us) AS list_max([
    {'us': gap_us, 'cause': 'late start'}, {'us': compute_us, 'cause': 'slow compute'},
    {'us': link_us, 'cause': 'slow link'}, {'us': earlier_us, 'cause': 'earlier call'}
]).cause;
