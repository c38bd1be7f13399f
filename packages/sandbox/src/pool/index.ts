export type { Container, PoolDriver, SlotRequest } from './pool-driver.ts';
export { type PoolStats, SlotPool, type SlotPoolOptions } from './slot-pool.ts';
