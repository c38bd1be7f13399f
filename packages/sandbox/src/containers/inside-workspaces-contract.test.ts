import { describeContainerContract } from './container-backend.contract.ts';

describeContainerContract('container', 'small');
