/** A directory as an operator has it: it belongs to an ordinary user, also where the server is root. */
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Of nobody on this machine. */
const USER = 12_345;

export class ProjectDirectory implements Disposable {
  readonly path: string;

  /** At a path of its own, or at one where nothing is. */
  constructor(files: Record<string, string> = {}, path?: string) {
    if (path !== undefined) mkdirSync(path);
    this.path = path ?? realpathSync(mkdtempSync(join(tmpdir(), 'talaria-project-')));
    own(this.path);
    for (const [path, content] of Object.entries(files)) this.write(path, content);
  }

  write(path: string, content: string): void {
    const whole = join(this.path, path);
    const made = mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, content);
    for (let at = whole; at.length >= (made ?? whole).length; at = dirname(at)) own(at);
  }

  /** The setting of a server that lets runs work in it. */
  get setting(): Record<string, string> {
    return { TALARIA_DIRECTORIES: JSON.stringify({ app: { path: this.path, mode: 'mount' } }) };
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function own(path: string): void {
  if (process.getuid?.() === 0) chownSync(path, USER, USER);
}
