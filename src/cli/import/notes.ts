/** Place in a file that is read as plain data. */
export type Path = readonly (string | number)[];

/** Sentences on what an import changed or left out, or what its reader must still do. */
export interface ImportNote {
  /** Where there are several. */
  file?: string;
  /** 1-based; null for what no file has. */
  line: number | null;
  /** `model_list[2].litellm_params.tpm`. */
  path: string;
  message: string;
}

/** Nobody reads more of them. */
const notesMax = 1_000;

/** Collects notes while a file is converted; `lineOf` gives the line of a place. */
export class Notes {
  readonly #lineOf: (path: Path) => number | null;
  readonly #file: string | undefined;
  readonly #notes: ImportNote[] = [];
  #unlisted = 0;

  constructor(lineOf: (path: Path) => number | null, file?: string) {
    this.#lineOf = lineOf;
    this.#file = file;
  }

  add(path: Path, message: string): void {
    if (this.#notes.length >= notesMax) {
      this.#unlisted += 1;
      return;
    }
    this.#notes.push({
      ...(this.#file !== undefined && { file: this.#file }),
      line: this.#lineOf(path),
      path: path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join(''),
      message,
    });
  }

  /** Ordered as in the file, then what no file has. */
  list(): readonly ImportNote[] {
    const place = ({ line }: ImportNote) => line ?? Number.MAX_SAFE_INTEGER;
    const rest = { line: 1, path: 'all', message: `${this.#unlisted} more notes are not listed` };
    return [...(this.#unlisted > 0 ? [rest] : []), ...this.#notes.toSorted((a, b) => place(a) - place(b))];
  }
}
