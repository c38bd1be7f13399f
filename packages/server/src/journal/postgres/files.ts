/** The part of the Postgres driver that keeps the files of clients. */
import {
  expectRoom,
  FILE_COLUMNS,
  type FileFilter,
  type FileLimits,
  type FileRow,
  type Files,
  type FileTotals,
  fileHolder,
  fileNotFound,
  type NewFile,
  type StoredFile,
  selectFiles,
  toStoredFile,
} from '../files.ts';
import { addReferences, dropHolders, lockBlobs } from './contents.ts';
import { ASKED, type Database, type Transaction } from './database.ts';

export class PostgresFiles implements Files {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add({ owner, fileId, filename, purpose, blob }: NewFile, limits: FileLimits): Promise<StoredFile> {
    return this.#database.transaction(ASKED, async (tx) => {
      tx.send('INSERT INTO file_totals (owner, files, bytes) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING', [
        owner,
      ]);
      // One file of an owner after the other, on all servers.
      const [used] = await tx.rows<FileTotals>(
        'SELECT files, bytes FROM file_totals WHERE owner = $1 FOR UPDATE',
        [owner],
      );
      expectRoom(used!, blob.size, limits);
      await lockBlobs(tx, [blob]);
      addReferences(tx, fileHolder(fileId), [blob]);
      const { blobId, size: bytes, sha256 } = blob;
      count(tx, owner, 1, bytes);
      tx.send(`INSERT INTO files (owner, ${FILE_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, [
        owner,
        fileId,
        filename,
        purpose,
        bytes,
        sha256,
        blobId,
        tx.now,
      ]);
      return { fileId, filename, purpose, bytes, sha256, blobId, createdAt: tx.now };
    });
  }

  async get(owner: string, fileId: string): Promise<StoredFile | undefined> {
    const [row] = await this.#database.rows<FileRow>(
      ASKED,
      `SELECT ${FILE_COLUMNS} FROM files WHERE file_id = $1 AND owner = $2`,
      [fileId, owner],
    );
    return row && toStoredFile(row);
  }

  async list(filter: FileFilter): Promise<StoredFile[]> {
    const values: (string | number)[] = [];
    const sql = selectFiles(filter, (value) => `$${values.push(value)}`);
    return (await this.#database.rows<FileRow>(ASKED, sql, values)).map(toStoredFile);
  }

  async totals(owner: string): Promise<FileTotals> {
    const [used] = await this.#database.rows<FileTotals>(
      ASKED,
      'SELECT files, bytes FROM file_totals WHERE owner = $1',
      [owner],
    );
    return used ?? { files: 0, bytes: 0 };
  }

  delete(owner: string, fileId: string): Promise<string[]> {
    return this.#database.transaction(ASKED, async (tx) => {
      const [gone] = await tx.rows<{ bytes: number }>(
        'DELETE FROM files WHERE file_id = $1 AND owner = $2 RETURNING bytes',
        [fileId, owner],
      );
      if (gone === undefined) throw fileNotFound(fileId);
      count(tx, owner, -1, -gone.bytes);
      return dropHolders(tx, [fileHolder(fileId)]);
    });
  }
}

function count(tx: Transaction, owner: string, files: number, bytes: number): void {
  tx.send('UPDATE file_totals SET files = files + $2, bytes = bytes + $3 WHERE owner = $1', [
    owner,
    files,
    bytes,
  ]);
}
