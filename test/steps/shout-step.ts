import type { Texts } from '../../src/formats/neutral/json-texts.ts';
import type { AnswerTextPlace, Canonical, GatewayStep, TextFilter } from '../../src/inference/models/steps.ts';

/** In requests and in answers: what must reach no upstream, and no caller. */
export const quietIn = 'quietin';
export const quietOut = 'quietout';

/** Replaces the marked words, and keeps what it saw. */
export function shoutStep(): GatewayStep & {
  seen: { texts: Texts | null; canonical: Canonical | null; endpoint: string }[];
} {
  const seen: { texts: Texts | null; canonical: Canonical | null; endpoint: string }[] = [];
  return {
    seen,
    begin: ({ endpoint }) => ({
      async request(body) {
        const texts = await body.texts();
        seen.push({ texts, canonical: await body.canonical(), endpoint });
        const marked = (texts?.parts ?? []).filter(({ text }) => text.includes(quietIn));
        return { changes: marked.map((part) => ({ ...part, text: part.text.replaceAll(quietIn, 'LOUDIN') })) };
      },
      answer: shouting,
    }),
  };
}

/** Holds back as much as could be the beginning of the word. */
function shouting({ kind }: AnswerTextPlace): TextFilter | null {
  if (kind === 'label') return null;
  let held = '';
  return {
    push(text) {
      const all = (held + text).replaceAll(quietOut, 'LOUDOUT');
      let keep = Math.min(quietOut.length - 1, all.length);
      while (keep > 0 && !quietOut.startsWith(all.slice(-keep))) keep -= 1;
      held = keep === 0 ? '' : all.slice(-keep);
      return all.slice(0, all.length - held.length);
    },
    end() {
      const rest = held;
      held = '';
      return rest;
    },
  };
}
