import { didYouMean } from '../kernel/nearest.ts';
import { aliasFor } from './alias-pattern.ts';
import type { ConfigPath, PathProblem } from './problem.ts';
import type { Config } from './schema.ts';

/** Guards that are named are there, and so are the models that they route to. Plans are checked with `checkPlan`. */
export function checkGuards(config: Config): PathProblem[] {
  const { guards, server, models, accounts, keys } = config;
  return [
    ...unknownGuards(['server'], server, config),
    ...Object.entries(models).flatMap(([name, model]) => unknownGuards(['models', name], model, config)),
    ...Object.entries(accounts).flatMap(([id, account]) => unknownGuards(['accounts', id], account, config)),
    ...keys.flatMap((key, index) => unknownGuards(['keys', index], key, config)),
    ...Object.entries(guards).flatMap(([name, { route_to, model }]) =>
      Object.entries({ route_to, model }).flatMap(([member, to]) =>
        to === undefined || Object.keys(models).length === 0 || aliasFor(models, to) !== null
          ? []
          : [
              {
                path: ['guards', name, member],
                message: `there is no such model${didYouMean(to, Object.keys(models))}`,
              },
            ],
      ),
    ),
  ];
}

/** Guards that the entry at `path` names and nobody has. */
export function unknownGuards(
  path: ConfigPath,
  { guards: named }: { guards?: readonly string[] | null | undefined },
  { guards }: Pick<Config, 'guards'>,
): PathProblem[] {
  return (named ?? []).flatMap((name, index) =>
    Object.hasOwn(guards, name)
      ? []
      : [
          {
            path: [...path, 'guards', index],
            message: `there is no such guard${didYouMean(name, Object.keys(guards))}`,
          },
        ],
  );
}
