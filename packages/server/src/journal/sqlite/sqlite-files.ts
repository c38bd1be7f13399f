/** The part of the SQLite driver that keeps the files of clients. */
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
import type { ContentsWriter } from './sqlite-contents.ts';
import type { Statements } from './statements.ts';
import type { WriterClient } from './writer-client.ts';

/** Called by name as `files.<operation>`. */
export class FilesWriter {
  readonly #statement: Statements;
  readonly #contents: ContentsWriter;

  constructor(statement: Statements, contents: ContentsWriter) {
    this.#statement = statement;
    this.#contents = contents;
  }

  add({ owner, fileId, filename, purpose, blob }: NewFile, limits: FileLimits, now: number): StoredFile {
    expectRoom(totals(this.#statement, owner), blob.size, limits);
    this.#contents.hold(fileHolder(fileId), [blob], now);
    const { blobId, size: bytes, sha256 } = blob;
    this.#count(owner, 1, bytes);
    this.#statement(`INSERT INTO files (owner, ${FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`).run(
      owner,
      fileId,
      filename,
      purpose,
      bytes,
      sha256,
      blobId,
      now,
    );
    return { fileId, filename, purpose, bytes, sha256, blobId, createdAt: now };
  }

  delete(owner: string, fileId: string): string[] {
    const deleted = this.#statement('DELETE FROM files WHERE file_id = ? AND owner = ? RETURNING bytes').get<{
      bytes: number;
    }>(fileId, owner);
    if (deleted === undefined) throw fileNotFound(fileId);
    this.#count(owner, -1, -deleted.bytes);
    return this.#contents.drop(fileHolder(fileId));
  }

  #count(owner: string, files: number, bytes: number): void {
    this.#statement(
      `INSERT INTO file_totals (owner, files, bytes) VALUES (?, ?, ?)
           ON CONFLICT (owner) DO UPDATE SET files = files + excluded.files, bytes = bytes + excluded.bytes`,
    ).run(owner, files, bytes);
  }
}

export class FilesReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  get(owner: string, fileId: string): StoredFile | undefined {
    const row = this.#statement(
      `SELECT ${FILE_COLUMNS} FROM files WHERE file_id = ? AND owner = ?`,
    ).get<FileRow>(fileId, owner);
    return row && toStoredFile(row);
  }

  list(filter: FileFilter): StoredFile[] {
    const values: (string | number)[] = [];
    const sql = selectFiles(filter, (value) => {
      values.push(value);
      return '?';
    });
    return this.#statement(sql)
      .all<FileRow>(...values)
      .map(toStoredFile);
  }

  totals(owner: string): FileTotals {
    return totals(this.#statement, owner);
  }
}

export class SqliteFiles implements Files {
  readonly #writer: WriterClient;
  readonly #reader: FilesReader;

  constructor(writer: WriterClient, reader: FilesReader) {
    this.#writer = writer;
    this.#reader = reader;
  }

  add(file: NewFile, limits: FileLimits): Promise<StoredFile> {
    return this.#writer.write.files.add(file, limits);
  }

  async get(owner: string, fileId: string): Promise<StoredFile | undefined> {
    return this.#reader.get(owner, fileId);
  }

  async list(filter: FileFilter): Promise<StoredFile[]> {
    return this.#reader.list(filter);
  }

  async totals(owner: string): Promise<FileTotals> {
    return this.#reader.totals(owner);
  }

  delete(owner: string, fileId: string): Promise<string[]> {
    return this.#writer.write.files.delete(owner, fileId);
  }
}

function totals(statement: Statements, owner: string): FileTotals {
  const row = statement('SELECT files, bytes FROM file_totals WHERE owner = ?').get<FileTotals>(owner);
  return row ?? { files: 0, bytes: 0 };
}
