/** Place in a file that is read as plain data. */
export type Path = readonly (string | number)[];

/** What an import changed or left out, or what its reader must still do. */
export interface ImportNote {
  line: number;
  /** `model_list[2].litellm_params.tpm`. */
  path: string;
  message: string;
}

/** Nobody reads more of them. */
const notesMax = 1_000;

/** Collects notes while a file is converted; `lineOf` gives the 1-based line of a place. */
export class Notes {
  readonly #lineOf: (path: Path) => number;
  readonly #notes: ImportNote[] = [];

  constructor(lineOf: (path: Path) => number) {
    this.#lineOf = lineOf;
  }

  add(path: Path, message: string): void {
    if (this.#notes.length >= notesMax) return;
    this.#notes.push({ line: this.#lineOf(path), path: shown(path), message });
  }

  /** Ordered as in the file. */
  list(): readonly ImportNote[] {
    return this.#notes.toSorted((a, b) => a.line - b.line);
  }
}

function shown(path: Path): string {
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('');
}
