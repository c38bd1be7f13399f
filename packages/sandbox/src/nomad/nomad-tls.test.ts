import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { readTls } from './nomad-tls.ts';

test('NOMAD_CAPATH may be a mounted secret of Kubernetes, which has links to files in a directory of its own', async () => {
  const caPath = await mkdtemp(join(tmpdir(), 'talaria-authorities-'));
  onTestFinished(() => rm(caPath, { recursive: true }));
  await mkdir(join(caPath, '..2026_11_17'));
  await symlink('..2026_11_17', join(caPath, '..data'));
  await writeFile(join(caPath, '..data/ca.pem'), rootCertificates[0]!);
  await symlink('..data/ca.pem', join(caPath, 'ca.pem'));
  expect((await readTls({ caPath })).secureContext).toBeDefined();
  await writeFile(join(caPath, '..data/ca.pem'), 'not PEM');
  await expect(readTls({ caPath })).rejects.toThrow(`${caPath}/ca.pem, which is not a file in PEM`);
  await rm(join(caPath, '..data/ca.pem'));
  await expect(readTls({ caPath })).rejects.toThrow(`${caPath}/ca.pem, which cannot be read (ENOENT)`);
});
