import { describeContainerContract } from './container-backend.contract.ts';

// As for containers that share nothing with this machine.
await describeContainerContract({ workspacesOn: 'container', reachedBy: 'relay' });
