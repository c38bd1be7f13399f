export type { Container, ContainerDriver, SlotRequest } from './container-driver.ts';
export { type PoolStats, SlotPool, type SlotPoolOptions } from './slot-pool.ts';
