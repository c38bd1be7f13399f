import { describe, expect, test } from 'vitest';
import { BodyBudget, RequestBody } from './body-budget.ts';

const refusing = (code: string) => expect.objectContaining({ code, retryAfterS: 1 });

describe('a budget for request bodies', () => {
  test('is one for all keys together, and one for each key', () => {
    const budget = new BodyBudget({ maxBytes: 100, maxBytesPerOwner: 60 });
    const ada = budget.charge('ada', 60);
    expect(() => budget.charge('ada', 1)).toThrow(refusing('too_many_bodies'));
    budget.charge('eve', 40);
    expect(() => budget.charge('eve', 1)).toThrow(refusing('server_busy'));
    ada.release();
    expect(budget.held).toBe(40);
    budget.charge('ada', 60);
  });

  test('is given back once, when the bytes are taken or the request is over', () => {
    const budget = new BodyBudget({ maxBytes: 100, maxBytesPerOwner: 100 });
    const charge = budget.charge('ada', 10);
    budget.charge('ada', 5);
    const body = new RequestBody(Buffer.from('hello'), charge);
    expect(Buffer.from(body.take()).toString()).toBe('hello');
    expect(budget.held).toBe(5);
    charge.release();
    expect(budget.held).toBe(5);
    expect(body.take()).toHaveLength(0);
  });
});
