/** Something in a configuration that people must know, with the place where they can change it. */
export interface ConfigProblem {
  /** The file's name for messages, in the loader's form; `environment` for a variable that replaces the file. */
  file: string;
  /** Both count from 1; 0 for a variable. */
  line: number;
  column: number;
  /** A variable's name, or such as `providers.openai.timeouts.first_token` or `models["claude-*"].targets[0]`; '' for the whole file. */
  path: string;
  /** Without secrets: no value that came from the environment or a secret file is ever in it. */
  message: string;
}

/** A setting that may work otherwise than intended. */
export interface ConfigWarning extends ConfigProblem {
  /** The remedy, a sentence. */
  fix: string;
}

export type ConfigPath = readonly (string | number)[];

/** A problem before its place in the file is looked up. */
export interface PathProblem {
  path: ConfigPath;
  message: string;
}

/** `culvert.yaml:14:7 providers.openai.timeouts.first_token: expected a duration such as 30s` */
export function formatProblem(problem: ConfigProblem): string {
  const { file, line, column } = problem;
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return problem.path === '' ? `${place} ${problem.message}` : `${place} ${problem.path}: ${problem.message}`;
}

/** The same with what to do about it. */
export function formatWarning(warning: ConfigWarning): string {
  return `${formatProblem(warning)}. ${warning.fix}`;
}

const shownNameChars = 80;

export function formatPath(path: ConfigPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z0-9_-]{1,80}$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step.length > shownNameChars ? `${step.slice(0, shownNameChars)}…` : step)}]`;
  }
  return text;
}
