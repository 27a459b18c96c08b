import type { Loss } from '../../formats/neutral/loss.ts';
import type { NeutralPart } from '../../formats/neutral/request.ts';
import { mediaLoss } from '../../formats/neutral/turn-media.ts';

/** Characters of Base64 of all media in one answer: each turn sends all of them again. */
const mediaCharsMax = 8 * 1024 * 1024;

/** Pictures and sound that tools return for one answer, bounded. */
export class ResultMedia {
  readonly #lost = new Map<string, Loss>();
  #chars = 0;

  /** Parts of results that no model gets. */
  get lost(): readonly Loss[] {
    return [...this.#lost.values()];
  }

  lose(field: string, kind: 'image' | 'audio'): void {
    const loss = mediaLoss(field, kind);
    this.#lost.set(loss.field, loss);
  }

  /** The parts of one result, with words in the place of media beyond the bound. */
  bounded(field: string, parts: readonly NeutralPart[]): NeutralPart[] {
    return parts.map((part) => {
      const chars = charsOf(part);
      if ((part.type !== 'image' && part.type !== 'audio') || this.#chars + chars <= mediaCharsMax) {
        this.#chars += chars;
        return part;
      }
      this.lose(field, part.type);
      return { type: 'text', text: `[${part.type}]` };
    });
  }
}

function charsOf(part: NeutralPart): number {
  if (part.type === 'audio') return part.base64.length;
  return part.type === 'image' && part.source.kind === 'base64' ? part.source.base64.length : 0;
}
