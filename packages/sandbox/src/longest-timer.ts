/** The longest time that setTimeout can count; a longer timeout would fire at once. */
export const LONGEST_TIMER_S = 2_147_483;
