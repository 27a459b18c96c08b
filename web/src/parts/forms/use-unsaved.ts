import { useBlocker } from '@tanstack/react-router';

/** Asks before a page whose form was changed is left, by a link or by the browser. */
export function useUnsaved(isChanged: boolean): void {
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      isChanged &&
      current.pathname !== next.pathname &&
      !window.confirm('Your changes are not saved. Leave the page and discard them?'),
    enableBeforeUnload: () => isChanged,
  });
}
