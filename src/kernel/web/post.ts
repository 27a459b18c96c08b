/** Sends one POST and resolves to the status of the answer, whatever it is. Rejects when none came within `timeoutMs`. */
export type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
) => Promise<number>;
