import { describeContainerContract } from './container-backend.contract.ts';

describeContainerContract('host', 'none');
