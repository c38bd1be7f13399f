import type { IsolationDriver } from './isolation-driver.ts';

/** The same isolation, with these additional variables for its commands. */
export function withEnvironment(
  driver: IsolationDriver,
  environment: Readonly<Record<string, string>>,
): IsolationDriver {
  const { standing } = driver;
  return {
    ...driver,
    launch(...given) {
      const launch = driver.launch(...given);
      return { ...launch, env: { ...launch.env, ...environment } };
    },
    ...(standing && { standing: { ...standing, env: { ...standing.env, ...environment } } }),
  };
}
