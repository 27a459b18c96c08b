import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';

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

/**
 * Asks before a page that shows a secret once is left, or changed by its address: nobody can show it again. The function
 * goes on with `onDone`, and asks no more.
 */
export function useShownOnce(onDone: () => void): () => void {
  const isSaved = useRef(false);
  useBlocker({
    shouldBlockFn: () =>
      !isSaved.current && !window.confirm('This is shown only once. Leave the page, and never see it again?'),
    enableBeforeUnload: () => !isSaved.current,
  });
  return () => {
    isSaved.current = true;
    onDone();
  };
}
