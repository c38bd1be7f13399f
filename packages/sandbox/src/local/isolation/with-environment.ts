import type { IsolationDriver } from './isolation-driver.ts';

/** The same isolation, whose commands find these variables besides the usual ones. */
export function withEnvironment(
  driver: IsolationDriver,
  environment: Readonly<Record<string, string>>,
): IsolationDriver {
  return {
    ...driver,
    launch(...given) {
      const launch = driver.launch(...given);
      return { ...launch, env: { ...launch.env, ...environment } };
    },
  };
}
