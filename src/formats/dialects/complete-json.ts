import { backslash, quote } from '../../kernel/json-marks.ts';

/** State of the pieces of a JSON object that come one by one: complete or not. */
export interface CompleteJson {
  add(piece: string): void;
  readonly complete: boolean;
}

/** Watches only brackets, and keeps nothing of the text. Text that is not an object or array is never complete. */
export function createCompleteJson(): CompleteJson {
  let depth = 0;
  let inString = false;
  let escaped = false;
  // A plain field: an accessor in a literal would make a hidden class for every call.
  const state = {
    complete: false,
    add(piece: string): void {
      for (let i = 0; i < piece.length; i++) {
        const code = piece.charCodeAt(i);
        if (inString) {
          if (escaped) escaped = false;
          else if (code === backslash) escaped = true;
          else if (code === quote) inString = false;
        } else if (code === quote) inString = true;
        else if (code === 0x7b || code === 0x5b) depth++;
        else if (code === 0x7d || code === 0x5d) {
          depth--;
          if (depth === 0) state.complete = true;
        }
      }
    },
  };
  return state;
}
