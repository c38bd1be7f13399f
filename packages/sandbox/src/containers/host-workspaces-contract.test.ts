import { describeContainerContract } from './container-backend.contract.ts';

await describeContainerContract({ workspacesOn: 'host' });
