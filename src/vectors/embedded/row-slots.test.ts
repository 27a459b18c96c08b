import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSlots } from './row-slots.ts';

test('gaps between the slots that are used are filled first', () => {
  const slots = createSlots(6, () => [0, 2, 5]);
  slots.mark();
  assert.deepEqual([slots.take(), slots.take(), slots.take(), slots.take()], [1, 3, 4, 6]);
});

test('whatever is taken and given, nothing is used twice, and undoing leads back to where it was', () => {
  const step = fc.oneof(
    fc.constant({ kind: 'take' } as const),
    fc.nat(50).map((which) => ({ kind: 'give', which }) as const),
    fc.constant({ kind: 'mark' } as const),
    fc.constant({ kind: 'undo' } as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const slots = createSlots(0, null);
      let used = new Set<number>();
      const marks: { mark: number; used: Set<number> }[] = [];
      for (const one of steps) {
        if (one.kind === 'take') {
          const slot = slots.take();
          assert(!used.has(slot));
          used.add(slot);
        } else if (one.kind === 'give') {
          const slot = [...used][one.which % Math.max(1, used.size)];
          if (slot === undefined) continue;
          used.delete(slot);
          slots.give(slot);
        } else if (one.kind === 'mark') {
          marks.push({ mark: slots.mark(), used: new Set(used) });
        } else {
          const back = marks.pop();
          if (back === undefined) continue;
          slots.undo(back.mark);
          used = back.used;
        }
      }
      // Dense: as many slots as were ever used at once.
      const taken = Array.from({ length: 10 }, () => slots.take());
      for (const slot of taken) assert(!used.has(slot) && used.add(slot));
    }),
    { seed: 4, numRuns: 300 },
  );
});
