/**
 * Whether something has stayed in its place long enough to be pressed. A card that appears or moves while a finger is
 * on its way must not take the press that was meant for another.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const STEADY_MS = 600;
const LOOK_EVERY_MS = 100;

export interface Steady {
  steady: Signal<boolean>;
  /** Looks once more, for the moment of a press: it may have moved since the last look. */
  isSteady(): boolean;
}

export function useSteady(element: RefObject<HTMLElement | null>): Steady {
  const steady = useSignal(false);
  const seen = useRef({ place: '', at: 0 });
  const look = () => {
    const place = placeOf(element.current);
    const now = performance.now();
    if (place !== seen.current.place) seen.current = { place, at: now };
    steady.value = now - seen.current.at >= STEADY_MS;
    return steady.value;
  };
  useEffect(() => {
    look();
    const timer = setInterval(look, LOOK_EVERY_MS);
    // Its own buttons change its size. Until the next look they would seem alive and take no press.
    const resized = new ResizeObserver(look);
    if (element.current !== null) resized.observe(element.current);
    return () => {
      clearInterval(timer);
      resized.disconnect();
    };
  }, []);
  return { steady, isSteady: look };
}

/** In the document: scrolling is the user's own movement. */
function placeOf(element: HTMLElement | null): string {
  if (element === null) return '';
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left + scrollX, top + scrollY, width, height].map(Math.round).join(' ');
}
