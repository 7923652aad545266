// Colors, scale and words of pictures: generated, the same as in SVG files and in the
// terminal.

export const RAMPS = {
  light: 'faf1cb fdde9f fec374 fe9d51 ee7245 d64044 a52853 6c1b52 2f1141',
  dark: '241f49 3b2566 5a2c7d 91317c c23b73 ea5858 fc8c49 fec46e fff6b2',
};
export const ZERO = { light: 'ffffff', dark: '12151a' };
/** First step of the ramp for a value above zero, so that low differs from zero. */
export const FIRST_STEP = 10;
/** The knee of the scale is the mean divided by this. */
export const KNEE_PARTS = 3;
/** The top of the scale is at least the mean times this. */
export const TOP_MEANS = 20;
/** The knee is at least the top divided by this. */
export const MAX_TOP_KNEES = 4000;
/** Columns longer than this show their peak. */
export const COARSE_MS = 120000;
/** Distances of ticks, in seconds. */
export const TICK_SECONDS = [
  1, 2, 5, 10, 30, 60, 120, 300, 600,
  1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];
/** Names of shapes. @type {Record<string, string>} */
export const SHAPE_NAMES = {
  even: 'Even',
  frontier: 'Sequential frontier',
  hot_row: 'Hot row',
  hot_prefix: 'Hot prefix',
  hot_range: 'Hot range',
  periodic: 'Periodic',
  sweep: 'Full-scan sweep',
  salt_imbalance: 'Salt imbalance',
  tombstone_head: 'Tombstone head',
  idle: 'Idle',
  too_few: 'Too early',
};
/** Whether a split helps. @type {Record<string, string>} */
export const SPLITS = { helps: 'Splitting helps', will_not_help: 'Splitting will not help' };
