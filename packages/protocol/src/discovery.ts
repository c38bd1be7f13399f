import type { Static } from 'typebox';
import type * as schemas from './schemas/discovery.ts';

export type Model = Static<typeof schemas.ModelSchema>;
export type ModelList = Static<typeof schemas.ModelListSchema>;
export type Capabilities = Static<typeof schemas.CapabilitiesSchema>;
export type Health = Static<typeof schemas.HealthSchema>;
export type HealthDetailed = Static<typeof schemas.HealthDetailedSchema>;
