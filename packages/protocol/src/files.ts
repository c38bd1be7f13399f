import type { Static } from 'typebox';
import type * as schemas from './schemas/files.ts';

/** A file that a client has uploaded. `File` is a name of the platform. */
export type StoredFile = Static<typeof schemas.FileSchema>;
export type FileList = Static<typeof schemas.FileListSchema>;
export type FileDeleted = Static<typeof schemas.FileDeletedSchema>;
