import { TalariaError } from '@talaria/protocol';
import { beforeEach, expect, test } from 'vitest';
import { QueuePace } from '../basics/queue-pace.ts';
import { type GiveBack, SlotPlaces } from './slot-places.ts';

const NEVER = new AbortController().signal;

let nowMs = 0;
let served: string[];
/** What each caller was given, by its name. */
let given: Map<string, GiveBack>;

beforeEach(() => {
  [nowMs, served, given] = [0, [], new Map()];
});

function makePlaces(max: number, maxPerOwner = max, maxWaiting = 100): SlotPlaces {
  return new SlotPlaces({ max, maxPerOwner, maxWaiting, pace: new QueuePace(() => nowMs) });
}

/** `name` begins with its key. */
async function ask(places: SlotPlaces, name: string, signal: AbortSignal = NEVER): Promise<void> {
  given.set(name, await places.take(name.split('-')[0]!, signal));
  served.push(name);
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function giveBack(name: string): Promise<void> {
  given.get(name)!();
  await settled();
}

test('gives out places up to the maximum, and gives a returned place to the next caller', async () => {
  const places = makePlaces(2);
  for (const name of ['ada-1', 'ada-2', 'ada-3']) void ask(places, name);
  await settled();
  expect(served).toEqual(['ada-1', 'ada-2']);
  expect({ total: places.total, waiting: places.waiting('ada'), free: places.free('ada') }).toEqual({
    total: 2,
    waiting: 1,
    free: 0,
  });
  await giveBack('ada-1');
  expect(served).toEqual(['ada-1', 'ada-2', 'ada-3']);
  expect(places.total).toBe(2);
});

test('giving a place back twice frees one', async () => {
  const places = makePlaces(2);
  await ask(places, 'ada-1');
  await ask(places, 'ada-2');
  await giveBack('ada-1');
  await giveBack('ada-1');
  expect(places.total).toBe(1);
});

test('a key waits at its own quota while others find room', async () => {
  const places = makePlaces(3, 1);
  await ask(places, 'ada-1');
  void ask(places, 'ada-2');
  await ask(places, 'bob-1');
  expect(served).toEqual(['ada-1', 'bob-1']);
  await giveBack('bob-1');
  expect(served, 'a place of another key does not lift the quota').toEqual(['ada-1', 'bob-1']);
  await giveBack('ada-1');
  expect(served.at(-1)).toBe('ada-2');
});

test('a free place goes to the key that holds the fewest, however many callers of another came before', async () => {
  const places = makePlaces(3);
  for (const name of ['ada-1', 'ada-2', 'ada-3', 'ada-4', 'ada-5', 'bob-1', 'bob-2']) void ask(places, name);
  await settled();
  await giveBack('ada-1');
  expect(served.at(-1)).toBe('bob-1');
  // ada holds two, bob one.
  await giveBack('ada-2');
  expect(served.at(-1), 'one each: it was longer ago for ada').toBe('ada-4');
});

test('keys that hold the same number take turns', async () => {
  const places = makePlaces(1);
  for (const name of ['ada-1', 'ada-2', 'ada-3', 'bob-1', 'bob-2']) void ask(places, name);
  await settled();
  for (let i = 0; i < 4; i++) await giveBack(served.at(-1)!);
  expect(served).toEqual(['ada-1', 'bob-1', 'ada-2', 'bob-2', 'ada-3']);
});

test('a caller that leaves holds nothing and gets nothing', async () => {
  const places = makePlaces(1);
  await ask(places, 'ada-1');
  const leaving = new AbortController();
  const left = ask(places, 'ada-2', leaving.signal);
  const stays = ask(places, 'ada-3');
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await giveBack('ada-1');
  await stays;
  expect(served).toEqual(['ada-1', 'ada-3']);
  expect(places.total).toBe(1);
  await expect(ask(places, 'ada-4', AbortSignal.abort(new Error('gone before')))).rejects.toThrow(
    'gone before',
  );
});

test('limits how many wait, and tells the others when to retry', async () => {
  const places = makePlaces(1, 1, 1);
  await ask(places, 'ada-1');
  void ask(places, 'ada-2');
  // A place becomes free every ten seconds.
  for (nowMs of [10_000, 20_000, 30_000]) {
    await giveBack(served.at(-1)!);
    void ask(places, `ada-${nowMs}`);
    await settled();
  }
  const refused = await ask(places, 'ada-x').catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(TalariaError);
  // One waits before it.
  expect(refused).toMatchObject({ code: 'no_slot_free', retryAfterS: 20 });
  void ask(places, 'bob-1');
  expect(places.waiting('bob'), 'the bound is of each key').toBe(1);
});

test('closing refuses waiting and new callers, and leaves held places alone', async () => {
  const places = makePlaces(1);
  await ask(places, 'ada-1');
  const waits = ask(places, 'bob-1');
  places.close();
  await expect(waits).rejects.toMatchObject({ code: 'gateway_draining' });
  await giveBack('ada-1');
  await expect(ask(places, 'ada-2')).rejects.toMatchObject({ code: 'gateway_draining' });
  expect(places.total).toBe(0);
});
