import type { Said } from './said.ts';

/** Parts of an answer that did not arrive unchanged; empty when all did. */
export interface Difference {
  what: (typeof held)[number] | (typeof beside)[number] | 'ledger';
  said: string;
  heard: string;
}

/** Parts that must be equal in every format. */
export const held = ['text', 'tools', 'finish', 'usage'] as const;
/** Parts that a format may have no place for; then `x-culvert-dropped` should say so. */
export const beside = ['thoughts', 'media', 'citations'] as const;

/** The words of `x-culvert-dropped` for each. */
const tellers: Readonly<Record<(typeof beside)[number], RegExp>> = {
  thoughts: /think|reasoning|thought/,
  media: /image|audio|file/,
  citations: /annotations|citations|groundingMetadata/,
};

/** Whether `dropped` says that something of this kind did not arrive. */
export function isTold(what: Difference['what'], dropped: string): boolean {
  return (beside as readonly string[]).includes(what) && tellers[what as (typeof beside)[number]].test(dropped);
}

/** Difference between the received and the sent parts. */
export function differences(said: Said, heard: Said): Difference[] {
  return [...held, ...beside].flatMap((what): Difference[] => {
    const [before, after] = [shown(said, what), shown(heard, what)];
    if (what === 'finish' && said.refused && after === 'filtered') return [];
    // Why there is no answer may be said in words.
    if (what === 'text' && before === '' && heard.finish === 'filtered') return [];
    return same(what, before, after) ? [] : [{ what, said: before, heard: after }];
  });
}

function same(what: keyof Said, before: string, after: string): boolean {
  if (before === after) return true;
  // Reasons that no other format has.
  if (what === 'finish' && before.startsWith('other:')) return after === 'filtered';
  // An answer without counts gets an estimate; one that is not known as finished, a finish.
  if (what === 'usage' && before === 'null') return true;
  if (what === 'finish' && before === 'none') return true;
  // Blocks may be joined differently; more text than was sent is not a loss.
  if (what === 'thoughts') return after.replace(/\s/g, '').includes(before.replace(/\s/g, ''));
  return (what === 'media' || what === 'citations') && Number(after) >= Math.min(1, Number(before));
}

/** What formats without custom tools make of a call: a function of one text. */
function asFunctions({ tools }: Said): string {
  return JSON.stringify(
    tools.map(({ name, arguments: input, custom }) => ({
      name,
      arguments: custom ? JSON.stringify({ input }) : input,
    })),
  );
}

function shown(said: Said, what: keyof Said): string {
  if (what === 'tools') return asFunctions(said);
  const value = said[what];
  return typeof value === 'string' ? value : JSON.stringify(value);
}
