/**
 * How a job has ended: `failed` is held after its last failure, `exception` dropped after it, `canceled` and `deleted` were
 * somebody's decision.
 */
export type EndStatus = (typeof END_STATUSES)[number];

export const END_STATUSES = ['successful', 'failed', 'exception', 'canceled', 'deleted'] as const;
