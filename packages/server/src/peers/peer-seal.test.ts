import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { type PeerQuestion, PeerSeal } from './peer-seal.ts';

const secret = randomBytes(32);
const seal = new PeerSeal(secret);
const question: PeerQuestion = {
  serverId: 'server_a',
  method: 'GET',
  path: '/peers/runs/r/artifacts?path=a',
};

it('is recognised by a server with the secret, and answered so that the other recognises it', () => {
  const { header, answer } = seal.ask(question);
  expect(new PeerSeal(secret).recognize(question, header)).toBe(answer);
  expect(header).not.toContain(secret.toString('hex'));
});

it.each([
  ['another server', { serverId: 'server_b' }],
  ['another path', { path: '/peers/runs/r/artifacts?path=b' }],
  ['another method', { method: 'POST' }],
])('is invalid for %s', (_, other) => {
  const { header } = seal.ask(question);
  expect(seal.recognize({ ...question, ...other }, header)).toBeUndefined();
});

it('is not recognised without the secret, or if there is none', () => {
  const { header } = new PeerSeal(randomBytes(32)).ask(question);
  for (const wrong of [header, undefined, '', '.', `${'0'.repeat(32)}.${'0'.repeat(64)}`, [header, header]]) {
    expect(seal.recognize(question, wrong)).toBeUndefined();
  }
});

it('is different for each request', () => {
  expect(seal.ask(question).header).not.toBe(seal.ask(question).header);
});
