import { type ComponentType, lazy } from 'react';
import { whenReachable } from '../api/connection.ts';

/** Makes a part of a page whose code is loaded when it is first shown, however often Culvert restarts meanwhile. */
export function lazyPart<Props>(load: () => Promise<{ default: ComponentType<Props> }>) {
  return lazy(() => whenReachable(load));
}
