import { describeContainerContract } from './container-backend.contract.ts';

// As where a container shares nothing with this machine.
await describeContainerContract({ workspacesOn: 'container', reachedBy: 'relay' }, 'small');
