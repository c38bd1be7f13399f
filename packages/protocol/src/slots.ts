import type { Static } from 'typebox';
import type * as schemas from './schemas/slots.ts';

export type SlotState = 'available' | 'acquired' | 'executing' | 'releasing' | 'error';
export type Slot = Omit<Static<typeof schemas.SlotSchema>, 'state'> & { state: SlotState };
export type AcquireSlotRequest = Static<typeof schemas.AcquireSlotRequestSchema>;
export type SlotCall = Static<typeof schemas.SlotCallSchema>;
export type ExecuteSlotsRequest = Static<typeof schemas.ExecuteSlotsRequestSchema>;
export type SlotResult = Static<typeof schemas.SlotResultSchema>;
export type SlotResults = Static<typeof schemas.SlotResultsSchema>;
export type SlotResultEvent = Static<typeof schemas.SlotResultEventSchema>;
export type ReleaseSlotRequest = Static<typeof schemas.ReleaseSlotRequestSchema>;
export type SlotReleased = Static<typeof schemas.SlotReleasedSchema>;
export type SlotList = Omit<Static<typeof schemas.SlotListSchema>, 'data'> & { data: Slot[] };
export type SlotArtifact = Static<typeof schemas.SlotArtifactSchema>;
export type SlotArtifactList = Static<typeof schemas.SlotArtifactListSchema>;
