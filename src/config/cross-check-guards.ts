import { didYouMean } from '../kernel/nearest.ts';
import { aliasFor } from './alias-pattern.ts';
import type { ConfigPath, PathProblem } from './problem.ts';
import type { Config } from './schema.ts';

/** Guards that are named are there, and so are the models that they route to. */
export function checkGuards({ guards, server, models, plans }: Config): PathProblem[] {
  const names = Object.keys(guards);
  const unknown = (path: ConfigPath, named: readonly string[] | undefined) =>
    (named ?? []).flatMap((name, index) =>
      Object.hasOwn(guards, name)
        ? []
        : [{ path: [...path, 'guards', index], message: `there is no such guard${didYouMean(name, names)}` }],
    );
  return [
    ...unknown(['server'], server.guards),
    ...Object.entries(models).flatMap(([name, model]) => unknown(['models', name], model.guards)),
    ...Object.entries(plans).flatMap(([name, plan]) => unknown(['plans', name], plan.guards)),
    ...Object.entries(guards).flatMap(([name, { route_to: to }]) =>
      to === undefined || Object.keys(models).length === 0 || aliasFor(models, to) !== null
        ? []
        : [
            {
              path: ['guards', name, 'route_to'],
              message: `there is no such model${didYouMean(to, Object.keys(models))}`,
            },
          ],
    ),
  ];
}
