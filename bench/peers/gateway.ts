import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, freePort, type Subject, scratchFolder, startPinned, stopped } from '../gateway/processes.ts';

/** What is measured, and how it stands here. */
export interface Gateway {
  name: string;
  /** What it does for a request besides forwarding it, as it is started here. */
  keeps: string;
  /** Where it comes from and where it is looked for, for who does not have it. */
  get: string;
  /** Its way to use several cores; null: it has none. */
  manyCores: string | null;
  /** Its program in the user's folder; null: not there. */
  find(folder: string): string | null;
  version(program: string): string;
  start(order: Order): Promise<Running>;
}

export interface Order {
  program: string;
  upstreamPort: number;
  /** As `taskset` takes them. */
  cores: string;
  /** How many workers or threads it is told to have. */
  workers: number;
}

/** A started gateway. */
export interface Running extends Subject {
  /** What callers ask for. */
  model: string;
  /** Processes beside its own that are a part of it, such as its databases. */
  stores: readonly number[];
}

/** What the upstream calls its model. */
export const upstreamModel = 'bench-model';
/** Of gateways that take any key. */
export const benchKey = 'sk-bench';
export const bearer = { authorization: `Bearer ${benchKey}` };

/** LiteLLM loads for some seconds, and longer on a busy machine. */
const startPatienceMs = 180_000;
const answersEveryMs = 20;

/** The command line of a gateway. */
export interface Launch {
  /** Default: the program itself. */
  command?: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  model: string;
}

/** Starts a program that listens on a free port; `launch` writes what it needs into a folder of its own. */
export async function launched(
  name: string,
  { program, cores }: Order,
  launch: (place: { port: number; folder: string }) => Launch | Promise<Launch>,
): Promise<Running> {
  const port = await freePort();
  const { command = program, args, env, headers = {}, model } = await launch({ port, folder: scratchFolder() });
  const child = startPinned(command, args, 'ignore', env, cores);
  const gone = new Promise<never>((_resolve, reject) =>
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code} (CULVERT_BENCH_DEBUG=1 shows why)`))),
  );
  gone.catch(() => undefined);
  await Promise.race([answers(port, answersEveryMs, startPatienceMs), gone]);
  return { name, port, headers, model, pid: child.pid!, stores: [], stop: () => stopped(child) };
}

/** Writes JSON, which readers of YAML take as well; the path. */
export function written(folder: string, name: string, value: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(value));
  return path;
}

/** A program of a folder: itself, in `bin/`, in a folder of its name, or in that one's `bin/`. */
export function programIn(folder: string, ...names: readonly string[]): string | null {
  const places = names.flatMap((name) => [name, join('bin', name), join(name, name), join(name, 'bin', name)]);
  return places.map((place) => join(folder, place)).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The version in what a program says. */
export function said(program: string, flag: string): string {
  const { stdout, stderr } = spawnSync(program, [flag], { encoding: 'utf8', timeout: 60_000 });
  return /\d+\.\d+(\.\d+)*/.exec(`${stdout}${stderr}`)?.[0] ?? 'of unknown version';
}
