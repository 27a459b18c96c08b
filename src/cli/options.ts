/** Takes a command's work, whose result is the exit code. */
export type Run = (work: Promise<number>) => Promise<void>;

export const configOption = [
  '--config <file>',
  'configuration file (default: CULVERT_CONFIG, ./culvert.yaml, or none)',
] as const;
export const jsonOption = ['--json', 'print JSON'] as const;
export const urlOption = ['--url <url>', "server to ask (default: CULVERT_URL, or the data folder's)"] as const;
export const keyOption = [
  '--key <key>',
  'API key (better in CULVERT_API_KEY: this shows in the process list)',
] as const;

export function example(line: string): string {
  return `\nExample:\n  ${line}`;
}
