import type { Static } from 'typebox';
import type * as schemas from './schemas/inventory.ts';

export type SkillList = Static<typeof schemas.SkillListSchema>;
export type Toolset = Static<typeof schemas.ToolsetSchema>;
export type ToolsetList = Static<typeof schemas.ToolsetListSchema>;
export type Directory = Static<typeof schemas.DirectorySchema>;
export type DirectoryList = Static<typeof schemas.DirectoryListSchema>;
export type ModelOptions = Static<typeof schemas.ModelOptionsSchema>;
