import { CommandFailed } from './command-failed.ts';

/** Headers with the token of a variable: the process list would show an argument. Undefined: none is named. */
export function bearerOf(variable: string | undefined): Record<string, string> | undefined {
  if (variable === undefined) return undefined;
  const token = process.env[variable]?.trim();
  if (!token) throw new CommandFailed(`The variable ${variable} holds no token.`, 2);
  return { authorization: `Bearer ${token}` };
}
